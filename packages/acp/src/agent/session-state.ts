import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import type { OfferedModel } from "@devtool/server/agent";
import { wordsOf } from "./form-field.ts";

/** An option of a session, and its values: none if it is boolean. */
export interface AgentOption {
  readonly id: string;
  /** Empty for none. */
  readonly category: string;
  readonly isBoolean: boolean;
  readonly currentValue: JsonValue | undefined;
  readonly values: readonly OfferedModel[];
}

/** What a session of an agent offers. */
export interface SessionState {
  /** Undefined for an agent without modes. */
  readonly modes:
    | { readonly currentModeId: string; readonly ids: readonly string[] }
    | undefined;
  readonly options: readonly AgentOption[];
  /**
   * The models of the field `models`, which version 1 of ACP no longer has, and
   * the one that answers.
   */
  readonly models: readonly OfferedModel[];
  readonly currentModelId: string;
}

/** Receives what cannot be used, and is left out. */
export type OnOdd = (odd: unknown) => void;

/** Reads the answer that opened a session, which may be anything. */
export function sessionState(answer: unknown, onOdd: OnOdd): SessionState {
  const { modes = null, configOptions, models = null } = objectOrEmpty(answer);
  const { availableModes = null, currentModeId } = objectOrEmpty(modes);
  const { availableModels = null, currentModelId } = objectOrEmpty(models);
  if (modes !== null && availableModes === null) onOdd(modes);
  if (models !== null && availableModels === null) onOdd(models);
  const ids = named(availableModes, "id", onOdd).map(([id]) => id);
  return {
    modes: isObject(modes)
      ? { currentModeId: stringOrEmpty(currentModeId), ids }
      : undefined,
    options: agentOptions(configOptions, onOdd),
    models: offeredIn(availableModels, "modelId", onOdd),
    currentModelId: stringOrEmpty(currentModelId),
  };
}

/** Reads the options of a session, which may be anything. */
export function agentOptions(list: unknown, onOdd: OnOdd): AgentOption[] {
  return named(list, "id", onOdd).flatMap(([id, option]) => {
    const { type, category = null, currentValue } = option;
    if (category !== null && typeof category !== "string") onOdd(category);
    const isBoolean = type === "boolean";
    const choices = [option.options ?? []].flat().flatMap((choice) => {
      const group = objectOrEmpty(choice);
      return "value" in group || !Array.isArray(group.options)
        ? [choice]
        : listOrEmpty(group.options);
    });
    const values = isBoolean ? [] : offeredIn(choices, "value", onOdd);
    if (!isBoolean && values.length === 0) onOdd(option);
    return isBoolean || values.length > 0
      ? {
          id,
          category: stringOrEmpty(category),
          isBoolean,
          currentValue,
          values,
        }
      : [];
  });
}

function offeredIn(list: unknown, field: string, onOdd: OnOdd): OfferedModel[] {
  return named(list, field, onOdd).map(([name, element]) => ({
    name,
    displayName: wordsOf(element.name).toWellFormed(),
  }));
}

/**
 * Returns the elements of a list by the name that each has in a field. One
 * without a name of its own is left out: nobody knows what the name means.
 */
function named(
  list: unknown,
  field: string,
  onOdd: OnOdd,
): (readonly [name: string, JsonObject])[] {
  const known = new Map<string, JsonObject>();
  for (const element of [list ?? []].flat()) {
    const name = stringOrEmpty(objectOrEmpty(element)[field]);
    const isOwn = name !== "" && name.isWellFormed() && !known.has(name);
    if (isOwn) {
      known.set(name, objectOrEmpty(element));
    } else {
      onOdd(element);
    }
  }
  return [...known];
}
