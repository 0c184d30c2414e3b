import { existsSync, readFileSync } from 'node:fs';
import ts from 'typescript';

/** One thing that the documentation has to explain: an export, or a member of one. */
export interface Documented {
  /** `entry: Export` or `entry: Export.member`. */
  readonly name: string;
  /** The doc comment without its tags, inherited where the declaration has none of its own. */
  readonly comment: string;
  /** An optional member of an interface: there is something that holds without it. */
  readonly isOption: boolean;
  /** What `@default` says. */
  readonly defaultValue: string | undefined;
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types?: string }>>;
}

/**
 * Everything that the entries of package.json export, and the members of it, except what is marked
 * `@internal`. Entries that are added later are found as well.
 */
export function documentedExports(): Documented[] {
  const entries = sourcesOfEntries();
  const program = ts.createProgram([...entries.values()], compilerOptions());
  const checker = program.getTypeChecker();
  return [...entries].flatMap(([entry, file]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file)!);
    if (!module) throw new Error(`${file} exports nothing.`);
    return checker
      .getExportsOfModule(module)
      .flatMap((exported) => explain(checker, entry, resolved(checker, exported)));
  });
}

/** The sources of the entries that have types, by the name under which they are imported. */
function sourcesOfEntries(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
  const sources = new Map<string, string>();
  for (const [entry, target] of Object.entries(exports)) {
    const types = typeof target === 'string' ? undefined : target.types;
    if (types === undefined) continue;
    const file = types.replace('./dist/', 'lib/').replace(/\.d\.ts$/, '.ts');
    if (!existsSync(file))
      throw new Error(`${entry} has types in ${types}, but there is no ${file}.`);
    sources.set(entry, file);
  }
  return sources;
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  return ts.parseJsonConfigFileContent(config, ts.sys, '.').options;
}

function resolved(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function explain(checker: ts.TypeChecker, entry: string, exported: ts.Symbol): Documented[] {
  const name = `${entry}: ${exported.name}`;
  const members = membersOf(checker, exported)
    .filter((member) => needsWords(checker, member))
    .map((member) => describe(checker, `${name}.${member.name}`, member));
  return [describe(checker, name, exported), ...members];
}

/** Of a class or an interface, inherited ones included; other exports are explained as a whole. */
function membersOf(checker: ts.TypeChecker, exported: ts.Symbol): ts.Symbol[] {
  if (!(exported.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface))) return [];
  const ofInstances = checker.getDeclaredTypeOfSymbol(exported).getProperties();
  return [...ofInstances, ...(exported.exports?.values() ?? [])];
}

const MEMBERS = ts.SymbolFlags.Property | ts.SymbolFlags.Method | ts.SymbolFlags.Accessor;
const HIDDEN = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;

/** Whether users see the member and its name and type do not say everything yet. */
function needsWords(checker: ts.TypeChecker, member: ts.Symbol): boolean {
  const [declaration] = member.declarations ?? [];
  if (!declaration || !(member.flags & MEMBERS) || isForeign(declaration)) return false;
  if (ts.getCombinedModifierFlags(declaration) & HIDDEN) return false;
  if (member.getJsDocTags().some((tag) => tag.name === 'internal')) return false;
  const { name } = declaration as ts.NamedDeclaration;
  if (!name || !ts.isIdentifier(name)) return false;
  return !isLabel(name.text, checker.getTypeOfSymbol(member));
}

/** What comes from a package is explained there. */
function isForeign(declaration: ts.Declaration): boolean {
  return declaration.getSourceFile().fileName.includes('/node_modules/');
}

/** The `kind` by which a union is told apart, and the `name` that every error has. */
function isLabel(name: string, type: ts.Type): boolean {
  return ['kind', 'name'].includes(name) && isLiteral(type);
}

function isLiteral(type: ts.Type): boolean {
  return type.isUnion()
    ? type.types.every(
        (one) => one.isStringLiteral() || Boolean(one.flags & ts.TypeFlags.Undefined),
      )
    : type.isStringLiteral();
}

function describe(checker: ts.TypeChecker, name: string, symbol: ts.Symbol): Documented {
  const [declaration] = symbol.declarations ?? [];
  const defaultTag = symbol.getJsDocTags(checker).find((tag) => tag.name === 'default');
  return {
    name,
    comment: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
    isOption:
      declaration !== undefined &&
      ts.isPropertySignature(declaration) &&
      declaration.questionToken !== undefined,
    defaultValue: defaultTag && ts.displayPartsToString(defaultTag.text),
  };
}
