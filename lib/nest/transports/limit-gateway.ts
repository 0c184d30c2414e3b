import { Inject } from '@nestjs/common';
import { CONNECTION_METADATA } from '../metadata.js';
import { takeOver } from '../take-over.js';
import { ConnectionContext } from './connection-context.js';
import { ConnectionLimiter, GatewayConnection } from './connection.limiter.js';

/** What Nest calls when clients come and go. */
type ConnectionHook = (this: Gateway, ...args: unknown[]) => unknown;

/** A gateway whose connections are limited. */
interface Gateway {
  /** Injected by Nest; an instance that was made by hand has none. */
  [LIMITER]?: ConnectionLimiter;
  handleDisconnect?: ConnectionHook;
}

const LIMITER = Symbol('nestjs-floodgate:connection-limiter');
/** The metadata of `@WebSocketGateway`. */
export const GATEWAY_METADATA = 'websockets:is_gateway';

/** The hook of gateways that Nest calls for each client that connects. */
export const CONNECTION_HOOK = 'handleConnection';

/**
 * Puts the limits of a `handleConnection` before it: Nest runs no guards there. Returns the method to
 * be used in its place, and wraps the `handleDisconnect` of the class, which then hears only of clients
 * that its `handleConnection` heard of.
 */
export function limitGateway(prototype: object, handleConnection: Function): Function {
  if (Reflect.hasMetadata(CONNECTION_METADATA, handleConnection)) return handleConnection;
  const connections = new WeakMap<object, GatewayConnection>();
  Inject(ConnectionLimiter)(prototype, LIMITER);
  const limited: ConnectionHook = async function (...args) {
    const goOn = (): unknown => handleConnection.apply(this, args);
    const limiter = this[LIMITER];
    if (!limiter || !Reflect.hasMetadata(GATEWAY_METADATA, this.constructor)) return goOn();
    const connection = new GatewayConnection();
    connections.set(args[0] as object, connection);
    const admitted = await limiter.admit(connection, new ConnectionContext(this, limited, args));
    return admitted ? goOn() : undefined;
  };
  pairDisconnect(prototype, connections);
  takeOver(handleConnection, limited);
  Reflect.defineMetadata(CONNECTION_METADATA, true, limited);
  return limited;
}

function pairDisconnect(prototype: Gateway, connections: WeakMap<object, GatewayConnection>): void {
  const { handleDisconnect } = prototype;
  const paired: ConnectionHook = function (...args) {
    const connection = connections.get(args[0] as object);
    connection?.end();
    const isStranger = connection !== undefined && !connection.isAdmitted;
    return isStranger ? undefined : handleDisconnect?.apply(this, args);
  };
  Object.defineProperty(prototype, 'handleDisconnect', {
    value: handleDisconnect ? takeOver(handleDisconnect, paired) : paired,
    configurable: true,
    writable: true,
  });
}
