// Sessions in the shape of the queues inside of Codex.
export {
  CallOutcome,
  type Event as SessionEvent,
  EventSchema as SessionEventSchema,
  FileChangeSchema,
  InputOptionSchema,
} from "./gen/devtool/codex/v1alpha/event_pb.ts";
export {
  type OpenSessionRequest,
  SessionService,
} from "./gen/devtool/codex/v1alpha/session_service_pb.ts";
export {
  type ConfigureSession,
  type InputItem,
  ReviewDecision,
  type Submission,
} from "./gen/devtool/codex/v1alpha/submission_pb.ts";
