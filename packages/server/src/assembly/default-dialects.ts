import { a2a } from "../transport/a2a.ts";
import { agUi } from "../transport/ag-ui/ag-ui.ts";
import { ard } from "../transport/ard/ard.ts";
import { connect } from "../transport/connect/routes.ts";
import type { Dialect } from "../transport/dialect.ts";
import { geminiCli } from "../transport/gemini-cli/gemini-cli.ts";

/**
 * Returns all dialects of this package: AG-UI, ARD, that of Gemini CLI, Connect
 * with gRPC and gRPC-Web, A2A 0.3 and 1.0.
 */
export function defaultDialects(): Dialect[] {
  return [agUi(), ard(), geminiCli(), connect(), a2a()];
}
