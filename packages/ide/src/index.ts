// The public names of @devtool/ide. Each name added here becomes public API.

export { type Companion, startCompanion } from "./companion.ts";
export type {
  DiffProposal,
  Editor,
  EditorDiff,
  FileLocation,
} from "./editor.ts";
export {
  type EditorContext,
  EditorContextSchema,
} from "./gen/devtool/ide/v1alpha/context_pb.ts";
export {
  DiagnosticSeverity,
  type FileDiagnostics,
  FileDiagnosticsSchema,
} from "./gen/devtool/ide/v1alpha/diagnostics_pb.ts";
export {
  DiffDecision,
  type DiffOutcome,
  DiffOutcomeSchema,
} from "./gen/devtool/ide/v1alpha/diff_pb.ts";
