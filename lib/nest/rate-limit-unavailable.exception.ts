import { HttpException, HttpStatus } from '@nestjs/common';

/** Thrown when the store cannot answer and a plan asks to deny then: 503. */
export class RateLimitUnavailableException extends HttpException {
  constructor() {
    super(
      {
        statusCode: HttpStatus.SERVICE_UNAVAILABLE,
        message: 'Requests cannot be counted at the moment. Try again soon.',
        error: 'Service Unavailable',
      },
      HttpStatus.SERVICE_UNAVAILABLE,
    );
  }
}
