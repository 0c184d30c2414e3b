import type { DashboardData } from '../dashboard-data.js';
import { byId, setText } from './dom.js';
import { Poll } from './poll.js';
import { ConfigurationSection } from './sections/configuration.js';
import { DenialsSection } from './sections/denials.js';
import { GatewaySection } from './sections/gateway.js';
import { HeadSection } from './sections/head.js';
import { KeysSection } from './sections/keys.js';
import { OutboundSection } from './sections/outbound.js';
import { PlansSection } from './sections/plans.js';
import { StoreSection } from './sections/store.js';
import { TilesSection } from './sections/tiles.js';
import { startTheme } from './theme.js';
import { TrafficPlot } from './traffic-plot.js';

const head = new HeadSection();
const plot = new TrafficPlot();
const sections = [
  new TilesSection(),
  new PlansSection(),
  new OutboundSection(),
  new GatewaySection(),
  new StoreSection(),
  new DenialsSection(),
  new KeysSection(),
  new ConfigurationSection(),
];

function show(data: DashboardData): void {
  const { allowed, delayed, denied } = data.stats.totals;
  const isNew = allowed + delayed + denied === 0;
  byId('first-steps').hidden = !isNew;
  byId('traffic').hidden = isNew;
  head.update(data);
  for (const section of sections) section.update(data);
  if (!isNew) plot.update(data.series);
  setText(document.querySelector('title')!, data.title);
}

startTheme(() => plot.restart());

// Beside the page, wherever a prefix or a proxy has put it.
const url = `${location.pathname.replace(/\/$/, '')}/data.json`;
new Poll(url, {
  onData: show,
  onTrouble: (why) => head.tellTrouble(why),
}).start();
