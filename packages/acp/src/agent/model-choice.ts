import type { SessionConfigOption } from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import { isObject, listOrEmpty, stringOrEmpty } from "@devtool/schema/json";
import type { OfferedModel } from "@devtool/server/agent";

/** The models between which a session of an agent chooses. */
export interface ModelChoice {
  /**
   * The option that chooses one. Undefined for an agent that takes
   * `session/set_model` in place of an option.
   */
  readonly optionId: string | undefined;
  /** The model that answers. */
  readonly current: string;
  readonly offered: readonly OfferedModel[];
}

/**
 * Returns the choice of models of a session. Undefined if the agent offers
 * none.
 *
 * @param configOptions the options of the session, one of which may have the
 * category `model`
 * @param models the field `models` of the answer that opened the session:
 *   agents that have no such option may list their models in it
 */
export function modelChoice(
  configOptions: readonly SessionConfigOption[],
  models: JsonObject,
): ModelChoice | undefined {
  const option = configOptions.find(
    ({ category, type }) => category === "model" && type === "select",
  );
  if (option?.type === "select") {
    const choices = option.options.flatMap((each) =>
      "value" in each ? [each] : each.options,
    );
    const offered = choices.map(({ value, name }) => offeredModel(value, name));
    return {
      optionId: option.id,
      current: stringOrEmpty(option.currentValue),
      offered,
    };
  }
  const listed = listOrEmpty(models.availableModels).filter(isObject);
  if (listed.length === 0) return undefined;
  const offered = listed.map(({ modelId, name }) =>
    offeredModel(modelId, name),
  );
  return {
    optionId: undefined,
    current: stringOrEmpty(models.currentModelId),
    offered,
  };
}

/** The agent's program may send anything. */
function offeredModel(name: unknown, displayName: unknown): OfferedModel {
  return { name: stringOrEmpty(name), displayName: stringOrEmpty(displayName) };
}
