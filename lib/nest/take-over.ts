/** Puts one function in the place of another, with its name and the metadata of its decorators. */
export function takeOver<T extends Function>(original: Function, replacement: T): T {
  Object.defineProperty(replacement, 'name', { value: original.name });
  Object.defineProperty(replacement, 'length', { value: original.length });
  for (const key of Reflect.getMetadataKeys(original)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, original), replacement);
  }
  return replacement;
}
