/** A server, one backend and one route, with limits of all kinds on each of them. */
export const EXAMPLE_YAML = `server:
  rateLimit:
    maxQps: 2000                 # 全局 QPS 限流
    maxConnections: 10000        # 全局连接数限流
    maxQpsPerClient: 10          # 客户端级 QPS 限流（优先级最低）
    maxConnectionsPerClient: 5    # 客户端级连接数限流

backends:
  - name: api-service
    rateLimit:
      maxQps: 1000               # 后端级 QPS 限流
      maxConnections: 5000        # 后端级连接数限流
      maxQpsPerClient: 50         # 客户端级 QPS 限流（优先级中等）
      maxConnectionsPerClient: 10 # 客户端级连接数限流

routes:
  - host: "api.example.com"
    backend: api-service
    rateLimit:
      maxQps: 500                # 路由级 QPS 限流
      maxConnections: 2000        # 路由级连接数限流
      maxQpsPerClient: 100        # 客户端级 QPS 限流（优先级最高）
      maxConnectionsPerClient: 20 # 客户端级连接数限流
`;

/** What the example says. */
export const EXAMPLE = {
  server: {
    rateLimit: {
      maxQps: 2000,
      maxConnections: 10000,
      maxQpsPerClient: 10,
      maxConnectionsPerClient: 5,
    },
  },
  backends: [
    {
      name: 'api-service',
      rateLimit: {
        maxQps: 1000,
        maxConnections: 5000,
        maxQpsPerClient: 50,
        maxConnectionsPerClient: 10,
      },
    },
  ],
  routes: [
    {
      host: 'api.example.com',
      backend: 'api-service',
      rateLimit: {
        maxQps: 500,
        maxConnections: 2000,
        maxQpsPerClient: 100,
        maxConnectionsPerClient: 20,
      },
    },
  ],
} as const;
