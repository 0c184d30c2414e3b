// Runs one application on Nest 11 and on Nest 12, from the packed library: Nest 12 runs global guards
// for gateways, Nest 11 does not, and neither does for most hybrid microservices. Each message has to be
// charged once on both.
import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dirname, '..', '..');
const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const NEST_11 = {
  '@nestjs/common': '11.2.10',
  '@nestjs/core': '11.2.10',
  '@nestjs/microservices': '11.2.6',
  '@nestjs/platform-express': '11.2.10',
  '@nestjs/platform-socket.io': '11.2.6',
  '@nestjs/websockets': '11.2.6',
};
const NEST_12 = Object.fromEntries(
  Object.keys(NEST_11).map((name) => [name, devDependencies[name]]),
);
const OTHERS = Object.fromEntries(
  ['reflect-metadata', 'rxjs', 'socket.io-client'].map((name) => [name, devDependencies[name]]),
);

const EXPECTED = {
  said: 'said',
  messagesLeft: 9,
  whileConnected: 0,
  refusedBy: ['sockets'],
  afterwards: 1,
  ordered: 'ordered',
  ordersLeft: 9,
};

const folder = mkdtempSync(join(tmpdir(), 'floodgate-compat-'));
try {
  const [{ filename }] = JSON.parse(
    npm(ROOT, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder),
  );
  for (const [name, nest] of Object.entries({ 'Nest 11': NEST_11, 'Nest 12': NEST_12 })) {
    const answer = runOn(join(folder, name.replace(' ', '-')), nest, join(folder, filename));
    assert.deepEqual(answer, EXPECTED, name);
    console.log(`${name}: each message is charged once, each connection holds one slot`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function runOn(project, nest, tarball) {
  mkdirSync(project);
  const dependencies = { ...nest, ...OTHERS, 'nestjs-floodgate': `file:${tarball}` };
  const manifest = { name: 'app', private: true, type: 'module', dependencies };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  npm(project, 'install', '--no-audit', '--no-fund', '--silent', '--ignore-scripts');
  writeFileSync(join(project, 'app.js'), compiledApp());
  const out = execFileSync(process.execPath, ['app.js'], {
    cwd: project,
    encoding: 'utf8',
    timeout: 60_000,
  });
  return JSON.parse(out);
}

function compiledApp() {
  const source = readFileSync(join(import.meta.dirname, 'gateway-app.ts'), 'utf8');
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  });
  return outputText;
}

function npm(cwd, ...args) {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
