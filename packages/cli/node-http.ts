/**
 * Takes the place of `node:http` in the bundle.
 *
 * An `import` of a built-in module reads each of its exports. One of `node:http` is `WebSocket`, for which Node loads all of its `fetch`: 20 ms
 * of processor time in every command that calls a server.
 */
const http: typeof import("node:http") = process.getBuiltinModule("node:http");

// biome-ignore lint/style/noDefaultExport: built-in modules have one, which packages import.
export { http as default };
export const Agent: typeof http.Agent = http.Agent;
export const createServer: typeof http.createServer = http.createServer;
export const get: typeof http.get = http.get;
export const request: typeof http.request = http.request;
