/**
 * The direction of imports: core <- memory, redis, files, shared <- outbound, gateway <- observe <- nest <- dashboard, index.
 * test/architecture.spec.ts runs it.
 */
const PURE_LIBRARIES = '^(ipaddr\\.js|(node:)?(crypto|net|async_hooks)$)|node_modules/ipaddr\\.js';

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: { path: '^lib' },
      to: { circular: true },
    },
    {
      name: 'core-imports-only-itself',
      comment: 'Besides pure functions: hashing, and telling and normalising addresses.',
      severity: 'error',
      from: { path: '^lib/core' },
      to: { pathNot: ['^lib/core', PURE_LIBRARIES] },
    },
    {
      name: 'memory-imports-core',
      severity: 'error',
      from: { path: '^lib/memory' },
      to: { pathNot: ['^lib/(core|memory)', '^(node:)?perf_hooks$'] },
    },
    {
      name: 'redis-imports-core',
      severity: 'error',
      from: { path: '^lib/redis' },
      to: {
        pathNot: [
          '^lib/(core|redis)',
          '^(node:)?(crypto|net|tls)$',
          'node_modules/(ioredis|cluster-key-slot)',
        ],
      },
    },
    {
      name: 'files-imports-core',
      severity: 'error',
      from: { path: '^lib/files' },
      to: { pathNot: ['^lib/(core|files)', '^(node:)?(fs(/promises)?|path|timers)$'] },
    },
    {
      name: 'outbound-imports-core-files-and-shared',
      severity: 'error',
      from: { path: '^lib/outbound' },
      to: {
        pathNot: [
          '^lib/(core|files|shared|outbound)',
          '^(node:)?(crypto|events|net|perf_hooks|url)$',
        ],
      },
    },
    {
      name: 'shared-imports-core',
      severity: 'error',
      from: { path: '^lib/shared' },
      to: { pathNot: ['^lib/(core|shared)'] },
    },
    {
      name: 'gateway-imports-core-files-and-shared',
      severity: 'error',
      from: { path: '^lib/gateway' },
      to: {
        pathNot: [
          '^lib/(core|files|shared|gateway)',
          '^(node:)?(crypto|events|net|perf_hooks|url)$',
          'node_modules/yaml',
        ],
      },
    },
    {
      name: 'testing-imports-core-and-memory',
      severity: 'error',
      from: { path: '^lib/testing' },
      to: { pathNot: ['^lib/(core|memory|testing)'] },
    },
    {
      name: 'nobody-imports-testing',
      severity: 'error',
      from: { path: '^lib/(?!testing)' },
      to: { path: '^lib/testing' },
    },
    {
      name: 'observe-imports-core-and-outbound',
      comment: 'Its adapters import what they adapt to besides.',
      severity: 'error',
      from: { path: '^lib/observe' },
      to: {
        pathNot: [
          '^lib/(core|outbound|observe)',
          '^(node:)?(crypto|diagnostics_channel|perf_hooks)$',
          'node_modules/(@nestjs/(common|terminus)|prom-client|@opentelemetry/api)',
        ],
      },
    },
    {
      name: 'optional-packages-are-imported-by-their-adapters',
      comment: 'An application without them must boot.',
      severity: 'error',
      from: { path: '^lib', pathNot: '^lib/observe/(prometheus|opentelemetry|terminus)/' },
      to: { path: 'node_modules/(@nestjs/terminus|prom-client|@opentelemetry/api)' },
    },
    {
      name: 'nobody-imports-the-adapters',
      severity: 'error',
      from: { path: '^lib', pathNot: '^lib/observe/(prometheus|opentelemetry|terminus)/' },
      to: { path: '^lib/observe/(prometheus|opentelemetry|terminus)/' },
    },
    {
      name: 'nobody-imports-the-dashboard',
      severity: 'error',
      from: { path: '^lib/(?!dashboard)' },
      to: { path: '^lib/dashboard' },
    },
    {
      name: 'the-page-runs-in-a-browser',
      comment: 'It draws with uPlot, which is built into it; of the rest it knows the types.',
      severity: 'error',
      from: { path: '^lib/dashboard/page/.+\\.ts$' },
      to: {
        pathNot: ['^lib/dashboard/page/', 'node_modules/uplot'],
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'nobody-imports-the-source-of-the-page',
      severity: 'error',
      from: { path: '^lib', pathNot: '^lib/dashboard/page/' },
      to: { path: '^lib/dashboard/page/' },
    },
    {
      name: 'nobody-imports-the-index',
      severity: 'error',
      from: { path: '^lib/.+/' },
      to: { path: '^lib/index\\.ts$' },
    },
    {
      name: 'lib-stands-alone',
      severity: 'error',
      from: { path: '^lib' },
      to: { path: '^(test|sample)' },
    },
    {
      name: 'only-declared-dependencies',
      severity: 'error',
      from: { path: '^lib', pathNot: '^lib/dashboard/page/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'],
        dependencyTypesNot: ['npm-peer', 'npm'],
      },
    },
    {
      name: 'samples-use-the-public-api',
      severity: 'error',
      from: { path: '^sample' },
      to: { path: '^(lib/.+/|test)' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['node_modules', '^dist'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
