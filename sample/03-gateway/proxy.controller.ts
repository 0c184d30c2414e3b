import { All, Controller, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Proxy } from './proxy.js';

@Controller()
export class ProxyController {
  constructor(private readonly proxy: Proxy) {}

  @All('{*path}')
  forward(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.proxy.forward(request, response);
  }
}
