// AG-UI 1.0: runs over the tasks of a server.

export { newMessageOf } from "./ag-ui/new-message.ts";
export { readResume } from "./ag-ui/resume.ts";
export {
  encodeMessagesSnapshot,
  encodeRunEnd,
  encodeRunError,
  encodeRunStarted,
} from "./ag-ui/run-end.ts";
export { RunEvents } from "./ag-ui/run-events.ts";
export { decodeRunInput, readForwardedProps } from "./ag-ui/run-input.ts";
export { hasMessages, threadMessagesOf } from "./ag-ui/thread-messages.ts";
export type {
  ForwardedProps,
  RunAgentInput,
} from "./gen/devtool/ag_ui/v1alpha/run_pb.ts";
