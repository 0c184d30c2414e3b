import { HttpException } from '@nestjs/common';
import { CLIENT_CLOSED_REQUEST } from '../request-outcome.js';

/**
 * Thrown in the place of a handler whose response was over before the handler began. Its slots are
 * given back by then, so it must not run.
 */
export class ClientGoneException extends HttpException {
  constructor() {
    super('Client Closed Request', CLIENT_CLOSED_REQUEST);
  }
}
