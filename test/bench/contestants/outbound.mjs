// A wait that need not wait, and a decision of one plan: both on the embedded store.
import { outboundApp } from './outbound-app.mjs';
import { serve } from './serve.mjs';

const [, , contestant] = process.argv;
const { limiter, outbound } = await outboundApp();
const contestants = {
  wait: (key) => outbound.wait(key),
  decision: (key) => limiter.allow(key, 'one', 1),
};
const names = Array.from({ length: 100 }, (_, i) => `host-${i}.example.com`);
serve((i) => contestants[contestant](names[i % names.length]));
