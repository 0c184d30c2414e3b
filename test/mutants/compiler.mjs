// @ts-check
// Tells whether a changed file still compiles, without writing it anywhere.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * A function that tells what is wrong with `path` once its text is `text`, or undefined. What is
 * unused or unreachable in it is not wrong.
 *
 * @param {string} root
 * @param {readonly string[]} paths all files of the program
 * @returns {(path: string, text: string) => string | undefined}
 */
export function createCompiler(root, paths) {
  /** @type {Map<string, { text: string, version: number }>} */
  const changed = new Map();
  let version = 0;
  const service = ts.createLanguageService(hostOf(root, paths, changed));

  return (path, text) => {
    const file = join(root, path);
    changed.set(file, { text, version: ++version });
    const [wrong] = [
      ...service.getSyntacticDiagnostics(file),
      ...service.getSemanticDiagnostics(file),
    ];
    changed.set(file, { text: readFileSync(file, 'utf8'), version: ++version });
    return wrong && ts.flattenDiagnosticMessageText(wrong.messageText, '\n');
  };
}

/**
 * @param {string} root
 * @param {readonly string[]} paths
 * @param {ReadonlyMap<string, { text: string, version: number }>} changed
 * @returns {ts.LanguageServiceHost}
 */
function hostOf(root, paths, changed) {
  const options = optionsOf(root);
  /** @param {string} file */
  const read = (file) => changed.get(file)?.text ?? ts.sys.readFile(file);
  return {
    getCompilationSettings: () => options,
    getScriptFileNames: () => paths.map((path) => join(root, path)),
    getScriptVersion: (file) => String(changed.get(file)?.version ?? 0),
    getScriptSnapshot: (file) => {
      const text = read(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: read,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: ts.sys.realpath,
  };
}

/** @param {string} root */
function optionsOf(root) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  return { ...options, noUnusedLocals: false, noUnusedParameters: false, noEmit: true };
}
