// Prints the bytes of heap that one live domain takes, its counter in the store included. Needs --expose-gc.
import { outboundApp } from './outbound-app.mjs';

const DOMAINS = 10_000;
const { outbound } = await outboundApp();
await outbound.wait('first.example.com');
const before = heapUsed();
for (let i = 0; i < DOMAINS; i++) await outbound.wait(`host-${i}.example.com`);
const bytes = (heapUsed() - before) / DOMAINS;
// Also keeps the application from being collected before it was measured.
const known = Object.keys(outbound.getAllStats()).length;
if (known !== DOMAINS + 1) throw new Error(`${known} domains are known`);
console.log(bytes);

function heapUsed() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
