// The public names of @devtool/server/dialect: what a form in which a server
// shows its tasks is written with.

export { loadOnce } from "@devtool/internal/load-once";
export { withFieldNames } from "./errors.ts";
export { callKeys, principalOf } from "./handler/caller.ts";
export {
  eventsUntilRest,
  findTask,
  type RequestHandler,
} from "./handler/request-handler.ts";
export {
  type Dialect,
  type DialectServices,
  forEachAgent,
  publicRoute,
  route,
  type Served,
} from "./transport/dialect.ts";
export { type Frame, streamFrames } from "./transport/http/answer.ts";
export { assertJson, readBody } from "./transport/http/body.ts";
export { HttpFailure } from "./transport/http/failure.ts";
export { oncePerEvent } from "./transport/http/once-per-event.ts";
export { type FailureForm, send } from "./transport/http/route.ts";
export type { RoutedCall } from "./transport/http/routed-call.ts";
