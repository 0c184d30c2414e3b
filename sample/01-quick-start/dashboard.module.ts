import { Module } from '@nestjs/common';
import { RateLimitDashboardModule } from 'nestjs-floodgate/dashboard';
import { AppModule } from './app.module.js';

/** The quick start with the dashboard beside it. Without a guard, it boots in development only. */
@Module({ imports: [AppModule, RateLimitDashboardModule.forRoot()] })
export class DashboardAppModule {}
