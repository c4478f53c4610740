import type { Dialect } from "@devtool/server/dialect";

/**
 * Sessions in the shape of Codex's queues: `SessionService`, which `connect()`
 * serves, for every agent of a server.
 */
export function codexQueues(): Dialect {
  return ({ handler }) => [
    {
      loadRpcs: async () => {
        const { SessionService } = await import("@devtool/schema/codex");
        const { createSessionService } = await import("./service.ts");
        return (router) => {
          // A field that is not known could be a restriction (JSON-2).
          const strict = { jsonOptions: { ignoreUnknownFields: false } };
          router.service(SessionService, createSessionService(handler), strict);
        };
      },
    },
  ];
}
