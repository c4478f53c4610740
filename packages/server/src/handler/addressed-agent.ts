import { create } from "@bufbuild/protobuf";
import {
  type ContextKey,
  createContextKey,
  type HandlerContext,
} from "@connectrpc/connect";
import { type SessionSettings, SessionSettingsSchema } from "@devtool/schema";
import { invalid, quoted } from "../errors.ts";

/**
 * The context key of the agent that a call is addressed to, by its tenant or
 * its path. Empty when the transport leaves the choice to the session settings.
 */
export const agentKey: ContextKey<string> = createContextKey("", {
  description: "agent",
});

/**
 * Returns the name of the agent that a call is addressed to; empty for none.
 */
export function addressedAgent({ values }: HandlerContext): string {
  return values.get(agentKey);
}

/**
 * Returns a request with the agent that its call is addressed to in its session
 * settings. Throws `Code.InvalidArgument` when the settings name another agent.
 */
export function withAddressedAgent<
  T extends { readonly sessionSettings?: SessionSettings | undefined },
>(request: T, context: HandlerContext): T {
  const agent = addressedAgent(context);
  if (agent === "") return request;
  const requested = request.sessionSettings?.agent ?? "";
  if (requested !== "" && requested !== agent) {
    const problem = `is not the agent that the call is addressed to: ${quoted(agent)}`;
    throw invalid("session_settings.agent", requested, problem);
  }
  return {
    ...request,
    sessionSettings: {
      ...(request.sessionSettings ?? create(SessionSettingsSchema)),
      agent,
    },
  };
}
