import { join, resolve } from 'node:path';
import ts from 'typescript';

/** What the compiler says about one line. */
export interface Complaint {
  /** The line, without its indentation. */
  readonly line: string;
  readonly code: number;
  readonly message: string;
}

const FOLDER = resolve('test');

/** What was read from the disk: the same for every program. */
const read = new Map<string, ts.SourceFile | undefined>();

/**
 * Compiles small programs that import the package by its name, and tells what is wrong in them.
 * They exist in memory only, beside each other, as the files of one application.
 */
export function compile(...programs: readonly string[]): Complaint[] {
  const files = new Map(programs.map((text, i) => [join(FOLDER, `program-${i}.ts`), text]));
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(FOLDER, 'tsconfig.json'), (path) => ts.sys.readFile(path)).config,
    ts.sys,
    FOLDER,
  );
  const program = ts.createProgram([...files.keys()], options, hostWith(files, options));
  return [...files.keys()].flatMap((name) => {
    const file = program.getSourceFile(name)!;
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map(complaintOf);
  });
}

function hostWith(
  files: ReadonlyMap<string, string>,
  options: ts.CompilerOptions,
): ts.CompilerHost {
  const disk = ts.createCompilerHost(options);
  return {
    ...disk,
    fileExists: (name) => files.has(resolve(name)) || disk.fileExists(name),
    getSourceFile: (name, languageVersion) => {
      const text = files.get(resolve(name));
      if (text !== undefined) return ts.createSourceFile(name, text, languageVersion);
      if (!read.has(name)) read.set(name, disk.getSourceFile(name, languageVersion));
      return read.get(name);
    },
  };
}

function complaintOf({ file, start, code, messageText }: ts.Diagnostic): Complaint {
  const number = file!.getLineAndCharacterOfPosition(start!).line;
  return {
    line: file!.text.split('\n')[number]!.trim(),
    code,
    message: ts.flattenDiagnosticMessageText(messageText, '\n'),
  };
}
