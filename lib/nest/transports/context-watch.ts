import type { ExecutionContext } from '@nestjs/common';

/** A context to hand to functions, and whether they have looked at it. */
export interface ContextWatch {
  readonly context: ExecutionContext;
  readonly wasRead: boolean;
}

/**
 * Watches a context. What was computed without it depends on the request alone, so that it holds for
 * every field of an operation; with it, it may depend on the arguments of one.
 */
export function watchContext(context: ExecutionContext): ContextWatch {
  const watch = {
    wasRead: false,
    context: new Proxy(context, {
      get(target, name): unknown {
        watch.wasRead = true;
        return Reflect.get(target, name, target);
      },
    }),
  };
  return watch;
}

/** A context that nobody may look at: it is that of another field. */
export function closedContext(context: ExecutionContext): ExecutionContext {
  return new Proxy(context, {
    get(): never {
      throw new Error('The context of this field is not known yet.');
    },
  });
}
