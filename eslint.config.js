import js from '@eslint/js';
import jestPlugin from 'eslint-plugin-jest';
import tseslint from 'typescript-eslint';

const NODE_GLOBALS = {
  AbortSignal: 'readonly',
  fetch: 'readonly',
  console: 'readonly',
  performance: 'readonly',
  process: 'readonly',
  setTimeout: 'readonly',
  globalThis: 'readonly',
  Buffer: 'readonly',
  URL: 'readonly',
};

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'dist-sample/**',
      'coverage/**',
      'docs/**',
      'test/generated/**',
      // Compiled where they are installed, with packages that are not here.
      'test/compat/nest-*/**',
      'test/compat/app/test/**',
      '**/node_modules/**',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./test/tsconfig.json', './lib/dashboard/page/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
        emitDecoratorMetadata: true,
        experimentalDecorators: true,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      // Nest hands over handlers as plain functions.
      '@typescript-eslint/no-unsafe-function-type': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['lib/**/*.ts'],
    rules: { 'no-console': 'error', '@typescript-eslint/no-explicit-any': 'error' },
  },
  {
    files: ['lib/core/**/*.ts'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'The core is told the time.' },
        { object: 'performance', property: 'now', message: 'The core is told the time.' },
        { object: 'Math', property: 'random', message: 'The core rolls no dice.' },
      ],
      'no-restricted-globals': [
        'error',
        { name: 'setTimeout', message: 'The core keeps no timers.' },
        { name: 'setInterval', message: 'The core keeps no timers.' },
        { name: 'setImmediate', message: 'The core keeps no timers.' },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    ...jestPlugin.configs['flat/recommended'],
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      // Suites and helpers assert on behalf of their tests.
      'jest/expect-expect': 'off',
      'jest/no-standalone-expect': 'off',
      'jest/no-export': 'off',
      // Random sequences decide on their way what has to hold next.
      'jest/no-conditional-expect': 'off',
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: NODE_GLOBALS },
  },
);
