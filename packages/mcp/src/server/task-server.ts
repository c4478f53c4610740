import {
  type JSONRPCRequest,
  type Result,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";

type Handler = (
  request: JSONRPCRequest,
  context: ServerContext,
) => Promise<Result>;

/**
 * A server whose calls of tools may return a task (SEP-2663). The SDK does not
 * know this kind of result, and would make a plain one of it.
 */
export class TaskServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    if (method !== "tools/call") return super._wrapHandler(method, handler);
    return async (request, context) => {
      let task: Result | undefined;
      const checked = super._wrapHandler(method, async (...call) => {
        const result = await handler(...call);
        if (result.resultType !== "task") return result;
        task = result;
        return { content: [] };
      });
      const result = await checked(request, context);
      return task ?? result;
    };
  }
}
