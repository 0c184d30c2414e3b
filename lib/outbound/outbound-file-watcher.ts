import type { WatchedFileListener, WatchedFileOptions } from '../files/watched-file.js';
import { WatchedFile } from '../files/watched-file.js';
import { parseOutboundFile, readOutboundText } from './outbound-file.js';
import type { OutboundRulesOptions } from './outbound-rules.js';

/** Watches a file of rules. */
export class OutboundFileWatcher extends WatchedFile<OutboundRulesOptions> {
  constructor(
    path: string,
    listener: WatchedFileListener<OutboundRulesOptions>,
    options?: WatchedFileOptions,
  ) {
    super(path, { read: readOutboundText, parse: parseOutboundFile }, listener, options);
  }
}
