import { HttpException, HttpStatus } from '@nestjs/common';

/** Thrown when a request does not tell whom to count, and must: 403. */
export class MissingKeyException extends HttpException {
  constructor() {
    super(
      {
        statusCode: HttpStatus.FORBIDDEN,
        message: 'This request does not tell who makes it.',
        error: 'Forbidden',
      },
      HttpStatus.FORBIDDEN,
    );
  }
}
