// The names of @devtool/ide/operator: for the command, which is a bundle. Not
// part of the published package.

export { IdeLinks } from "./client/ide-links.ts";
export {
  type AgentReport,
  type FoundFile,
  findCompanions,
  type Surroundings,
} from "./doctor/find-companions.ts";
export { ideProcess } from "./doctor/ide-process.ts";
export { DiffRequestSchema } from "./gen/devtool/ide/v1alpha/diff_pb.ts";
export { type EditorStreams, serveEditor } from "./stdio/serve-editor.ts";
