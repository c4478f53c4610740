// The public names of @devtool/schema. Adding a name extends the API.

export { assertNoBrokenAnswer } from "./a2a-v03/confirmation.ts";
export { renderWholeAsked } from "./a2a-v03/plain-text.ts";
export {
  answerName,
  declineOf,
  quotedAbout,
  reachOfAnswer,
} from "./answer-name.ts";
// Rules that clients and servers share
export { approvalModeOf, stricterMode } from "./approval-mode.ts";
export { dataText } from "./data-text.ts";
export { assertExactJson } from "./exact-json.ts";
export { exchangeHistory, replyOf } from "./exchange-history.ts";
export {
  EXTENSION_URI,
  findExtension,
  isExtensionUri,
  MODIFIED_ARGUMENTS_URI,
  SEQUENCE_URI,
  SESSION_SETTINGS_URI,
  SHOWN_DIGEST_URI,
} from "./extension.ts";
// The RFC's messages: devtool.a2a.v1alpha
export {
  CommandExecutionStatus,
  type ExecuteSlashCommandRequest,
  ExecuteSlashCommandRequestSchema,
  type ExecuteSlashCommandResponse,
  ExecuteSlashCommandResponseSchema,
  type GetAllSlashCommandsResponse,
  GetAllSlashCommandsResponseSchema,
  type SlashCommand,
  type SlashCommandArgument,
  SlashCommandArgumentSchema,
  SlashCommandSchema,
} from "./gen/devtool/a2a/v1alpha/command_pb.ts";
export {
  type ToolCallConfirmation,
  ToolCallConfirmationSchema,
} from "./gen/devtool/a2a/v1alpha/confirmation_pb.ts";
export {
  type AgentThought,
  AgentThoughtSchema,
  DevelopmentToolEventSchema,
} from "./gen/devtool/a2a/v1alpha/event_pb.ts";
export { AgentSettingsSchema } from "./gen/devtool/a2a/v1alpha/settings_pb.ts";
export {
  type ConfirmationOption,
  ConfirmationOptionSchema,
  type ConfirmationRequest,
  ConfirmationRequestSchema,
  type ErrorDetails,
  ErrorDetailsSchema,
  ExecuteDetailsSchema,
  type FileDiff,
  FileDiffSchema,
  GenericDetailsSchema,
  McpDetailsSchema,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
  type ToolOutput,
  ToolOutputSchema,
} from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
// Our services and events: devtool.v1alpha
export {
  AgentListService,
  type AgentRegistration,
  AgentRegistrationSchema,
  AgentRegistryFileSchema,
  type FoundAgent,
  FoundAgentSchema,
  type ListedAgent,
  ListedAgentSchema,
  type RegisterAgentRequest,
} from "./gen/devtool/v1alpha/agent_list_service_pb.ts";
export {
  type AgentMesh,
  AgentMeshSchema,
} from "./gen/devtool/v1alpha/agent_mesh_pb.ts";
export {
  AiCatalogSchema,
  type CatalogEntry,
  CatalogEntrySchema,
  CatalogSearchRequestSchema,
  CatalogSearchResponseSchema,
} from "./gen/devtool/v1alpha/ai_catalog_pb.ts";
export {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
  AuditService,
} from "./gen/devtool/v1alpha/audit_pb.ts";
export { CallerRight } from "./gen/devtool/v1alpha/authentication_pb.ts";
export { BackupService } from "./gen/devtool/v1alpha/backup_service_pb.ts";
export {
  AccessCodeKind,
  BrowserAccessService,
  type BrowserSession,
  BrowserSessionFileSchema,
  BrowserSessionSchema,
  type StoredBrowserSession,
  type StoredWebPush,
  StoredWebPushSchema,
} from "./gen/devtool/v1alpha/browser_access_service_pb.ts";
export {
  type Budget,
  type BudgetConfig,
  BudgetConfigSchema,
  type BudgetSchema,
  type ModelPrice,
} from "./gen/devtool/v1alpha/budget_pb.ts";
export {
  type Checkpoint,
  CheckpointSchema,
} from "./gen/devtool/v1alpha/checkpoint_pb.ts";
export {
  type CommandFile,
  CommandFileSchema,
} from "./gen/devtool/v1alpha/command_file_pb.ts";
export {
  ReadinessRequestSchema,
  ReadinessSchema,
} from "./gen/devtool/v1alpha/discovery_pb.ts";
export { ErrorContextSchema } from "./gen/devtool/v1alpha/error_pb.ts";
export {
  EventRowSchema,
  StoredHeadSchema,
} from "./gen/devtool/v1alpha/event_row_pb.ts";
export {
  type Goal,
  type GoalProgress,
  GoalProgressSchema,
  GoalSchema,
  GoalState,
} from "./gen/devtool/v1alpha/goal_pb.ts";
export {
  type IdeContext,
  IdeContextSchema,
} from "./gen/devtool/v1alpha/ide_context_pb.ts";
export {
  type InboxRefusal,
  InboxRefusalSchema,
  type InboxRequest,
  InboxRequestSchema,
} from "./gen/devtool/v1alpha/inbox_pb.ts";
export {
  type McpHttp,
  type McpServer,
  McpServerSchema,
  type McpStdio,
} from "./gen/devtool/v1alpha/mcp_server_pb.ts";
export { MessageSettingsSchema } from "./gen/devtool/v1alpha/message_settings_pb.ts";
export {
  type PolicyFile,
  PolicyFileSchema,
  type PolicyRule,
  PolicyRuleSchema,
  RuleDecision,
} from "./gen/devtool/v1alpha/policy_file_pb.ts";
export {
  type PushAuthentication,
  type PushConfig,
  PushConfigSchema,
  PushFormat,
  type PushProgress,
  PushProgressSchema,
  PushService,
  type PushSubscription,
  PushSubscriptionSchema,
} from "./gen/devtool/v1alpha/push_service_pb.ts";
export {
  ApprovalMode,
  type SessionSettings,
  SessionSettingsSchema,
} from "./gen/devtool/v1alpha/session_settings_pb.ts";
export {
  type SigningKey,
  type SigningKeyFile,
  SigningKeyFileSchema,
  SigningKeySchema,
} from "./gen/devtool/v1alpha/signing_key_pb.ts";
export {
  type RunSlashCommandRequest,
  SlashCommandService,
} from "./gen/devtool/v1alpha/slash_command_service_pb.ts";
export {
  type ArtifactUpdate,
  ArtifactUpdateSchema,
  file_devtool_v1alpha_task_event,
  MessageQueuedSchema,
  MessageTakenSchema,
  MessageWithdrawnSchema,
  type Notice,
  NoticeSchema,
  type StateChange,
  StateChangeSchema,
  type TaskCreated,
  TaskCreatedSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskRenamedSchema,
  TextContentSchema,
} from "./gen/devtool/v1alpha/task_event_pb.ts";
export {
  type Artifact,
  ArtifactSchema,
  type CallChain,
  CallChainSchema,
  type Citation,
  CitationSchema,
  type ConversationFork,
  ConversationForkSchema,
  type EditRecord,
  EditRecordSchema,
  type File,
  FileSchema,
  file_devtool_v1alpha_task,
  McpConnectionState,
  type Message,
  MessageDelivery,
  MessageSchema,
  type Part,
  PartSchema,
  type QueuedMessage,
  Role,
  type Sender,
  SenderSchema,
  type SessionTools,
  SessionToolsSchema,
  type Summary,
  SummarySchema,
  type Task,
  TaskSchema,
  TaskState,
  type ToolCallAnswerer,
  ToolCallAnswererSchema,
  type ToolCallDetail,
  ToolCallDetailSchema,
  type ToolCallProgress,
  ToolCallProgressSchema,
  ToolCallStage,
  type TraceContext,
  TraceContextSchema,
  type UntoldCancel,
  UntoldCancelSchema,
  type Usage,
  UsageSchema,
} from "./gen/devtool/v1alpha/task_pb.ts";
export {
  CancelTaskRequestSchema,
  type ListTasksRequest,
  type ListTasksResponse,
  ListTasksResponseSchema,
  RenameTaskRequestSchema,
  type Replay,
  ReplaySchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SetGoalStateRequestSchema,
  StreamMessageRequestSchema,
  type SubscribeTaskRequest,
  SubscribeTaskRequestSchema,
  TaskService,
  type TaskSummary,
  TaskSummarySchema,
  type WatchTasksRequest,
  type WatchTasksResponse,
  type WithdrawMessageRequest,
  WithdrawMessageRequestSchema,
} from "./gen/devtool/v1alpha/task_service_pb.ts";
export {
  type TrustedFile,
  TrustedFileSchema,
  type TrustFile,
  TrustFileSchema,
  type TrustGrant,
  TrustGrantSchema,
} from "./gen/devtool/v1alpha/trust_pb.ts";
export {
  ApprovalPolicy,
  SandboxPolicy,
  type TurnSettings,
} from "./gen/devtool/v1alpha/turn_settings_pb.ts";
export { WebPushMessageSchema } from "./gen/devtool/v1alpha/web_push_pb.ts";
export {
  FailureAction,
  type StepRun,
  StepRunSchema,
  type Workflow,
  type WorkflowRun,
  WorkflowRunSchema,
  WorkflowSchema,
  type WorkflowStep,
} from "./gen/devtool/v1alpha/workflow_pb.ts";
export {
  GetWorkspaceSettingsResponseSchema,
  type ListedMcpServer,
  type ListedRule,
  WorkspaceService,
} from "./gen/devtool/v1alpha/workspace_service_pb.ts";
export { mergeIdeContext } from "./ide-context.ts";
export { assertJsonBudget, DEFAULT_LIMITS, parseJson } from "./json-budget.ts";
export { assertJsonEncodable } from "./json-encodable.ts";
export { LazyFold } from "./lazy-fold.ts";
export { assertPlainIntegers } from "./plain-integers.ts";
export { emptyTask, reduceTask } from "./reduce-task.ts";
export {
  decodeRfcJson,
  decodeRfcText,
  encodeRfcJson,
  structFromJson,
} from "./rfc-json.ts";
export { decodeStrictJson } from "./strict-json.ts";
export { summaryOf } from "./task-history.ts";
export {
  deriveState,
  endsExchange,
  isAtRest,
  isInterrupted,
  isTerminal,
} from "./task-state.ts";
export { initialTitle } from "./task-title.ts";
export {
  answeredToolCall,
  answersTo,
  answerText,
  awaitedToolCalls,
  confirmationsOf,
  findConfirmation,
  findModifiedArguments,
  findToolCall,
  findToolCallDetail,
  findToolCallPart,
  isAwaitingApproval,
  isEnded,
  isQuestionOfCall,
  lastStepIndex,
  OPTION_CANCEL,
  OPTION_MODIFY_ARGUMENTS,
  OPTION_MODIFY_WITH_EDITOR,
  OPTION_PROCEED_ALWAYS,
  OPTION_PROCEED_ALWAYS_AND_SAVE,
  OPTION_PROCEED_ALWAYS_SERVER,
  OPTION_PROCEED_ALWAYS_TOOL,
  OPTION_PROCEED_ONCE,
  OPTION_PROCEED_WITHOUT_SANDBOX,
  OPTION_REJECT,
  openToolCalls,
  toolCallsOf,
} from "./tool-call.ts";
export { isStageMove, stageOf } from "./tool-call-stage.ts";
export { answerArtifact } from "./turn-answer.ts";
export { visibleCall } from "./visible-call.ts";
export { mistyped, quote, WireError } from "./wire-error.ts";
