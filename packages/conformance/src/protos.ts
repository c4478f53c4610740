// The names of @devtool/conformance/protos: cases and reports, for this package,
// the command and the console, which are bundles. Not part of the published
// package.

export {
  type Case,
  CaseSchema,
  type Expectation,
  ExpectationSchema,
  type Golden,
  type GoldenSuite,
  GoldenSuiteSchema,
  type Step,
  StepSchema,
  type Suite,
  SuiteSchema,
} from "./gen/devtool/conformance/v1alpha/case_pb.ts";
// Recorded conversations and played agents for testing clients.
export {
  type AgentAnswer,
  AgentAnswerSchema,
  type AgentCase,
  type AgentDialect,
  type AgentSuite,
  AgentSuiteSchema,
  type ClientCase,
  type ClientSuite,
  ClientSuiteSchema,
} from "./gen/devtool/conformance/v1alpha/client_pb.ts";
// The contract with a program under test.
export {
  type Binding,
  BindingSchema,
  type Conversation,
  ConversationSchema,
  type Converse,
  type ConverseOverA2a,
  type ProgramCase,
  type ProgramRequest,
  ProgramRequestSchema,
  type ProgramResponse,
  ProgramResponseSchema,
  type ProgramSuite,
  ProgramSuiteSchema,
} from "./gen/devtool/conformance/v1alpha/program_pb.ts";
// Cases for the receiver of push notifications.
export {
  type PushCase,
  type PushSuite,
  PushSuiteSchema,
} from "./gen/devtool/conformance/v1alpha/push_pb.ts";
export {
  type CaseReport,
  CaseReportSchema,
  type ExchangeRecord,
  ExchangeRecordSchema,
  type ExpectedFailure,
  type KnownFailing,
  KnownFailingSchema,
  Level,
  Outcome,
  type Report,
  ReportSchema,
  type RequirementReport,
  RequirementReportSchema,
} from "./gen/devtool/conformance/v1alpha/report_pb.ts";
