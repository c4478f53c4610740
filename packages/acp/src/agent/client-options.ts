import type { Task } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import type { AcpAgentOptions } from "./acp-agent-options.ts";
import type { AgentOption } from "./session-state.ts";

/**
 * The category of options that clients may set where the operator names none:
 * how much the agent thinks.
 */
const PERMITTED_CATEGORY = "thought_level";

/**
 * Returns the values of the agent's options that a task has asked for so far,
 * by their ids.
 */
export function requestedOptions({
  sessionSettings,
  history,
}: Task): Readonly<Record<string, string>> {
  return Object.assign(
    {},
    sessionSettings?.agentOptions,
    ...history.map(({ agentOptions }) => agentOptions),
  );
}

/**
 * Returns the error for an option that the agent does not have, or that clients
 * may not set, and for a value that it does not offer; else undefined.
 *
 * @param known the options of the agent's session
 */
export function optionProblem(
  agent: AcpAgentOptions,
  known: readonly AgentOption[],
  [id, value]: readonly [id: string, value: string],
): DevtoolError | undefined {
  const { clientOptions, configOptions = {} } = agent;
  // Clients may not set an option that the operator has set, unless the operator
  // lists it.
  const permitted = known.filter((one) =>
    clientOptions
      ? clientOptions.includes(one.id)
      : one.category === PERMITTED_CATEGORY &&
        configOptions[one.id] === undefined,
  );
  const option = permitted.find((one) => one.id === id);
  if (!option) {
    const problem = `agent_options ${quoted(id)} is not an option of agent ${quoted(agent.name)} that clients may set`;
    return refused(
      problem,
      permitted.map((one) => one.id),
    );
  }
  const values = option.isBoolean
    ? ["true", "false"]
    : option.values.map(({ name }) => name);
  return values.includes(value)
    ? undefined
    : refused(`agent_options ${quoted(id)} cannot be ${quoted(value)}`, values);
}

/**
 * Returns the value of an option that a client sets, in the form in which the
 * agent takes it: `true` and `false` of a boolean option become booleans.
 *
 * Throws the error of `optionProblem`.
 */
export function clientOption(
  agent: AcpAgentOptions,
  known: readonly AgentOption[],
  option: readonly [id: string, value: string],
): string | boolean {
  const problem = optionProblem(agent, known, option);
  if (problem) throw problem;
  const [id, value] = option;
  const isBoolean = known.some((one) => one.id === id && one.isBoolean);
  return isBoolean ? value === "true" : value;
}

function refused(problem: string, choices: readonly string[]): DevtoolError {
  const remedy =
    choices.length === 0 ? "leave it out" : `choose ${choices.join(", ")}`;
  return new DevtoolError(problem, Code.InvalidArgument, { remedy });
}
