import { Controller, Get, Module } from '@nestjs/common';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';

@Controller()
export class HelloController {
  @Get()
  @RateLimit('5/10s')
  hello() {
    return 'Hello!';
  }
}

@Module({ imports: [RateLimitModule.forRoot()], controllers: [HelloController] })
export class AppModule {}
