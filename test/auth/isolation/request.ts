import {
  create,
  type DescField,
  type DescMessage,
  type Message,
} from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";

/** The ids that requests name: of a task and of a conversation. */
export interface Names {
  readonly taskId: string;
  readonly contextId: string;
}

const TASK_FIELDS: ReadonlySet<string> = new Set(["task_id", "id"]);

/**
 * A request that names a task and a conversation wherever its type can, and is
 * otherwise as small as may be sent.
 */
export function requestNaming(schema: DescMessage, names: Names): Message {
  const message = reflect(schema, create(schema));
  fill(message, names);
  return message.message;
}

/**
 * Returns whether a request of this type can name somebody's task or
 * conversation.
 */
export function canName(schema: DescMessage): boolean {
  return schema.fields.some(
    (field) => isNaming(field) || (isFilled(field) && canName(field.message)),
  );
}

function isNaming({ name, scalar, fieldKind }: DescField): boolean {
  return (
    fieldKind === "scalar" &&
    scalar !== undefined &&
    (TASK_FIELDS.has(name) || name === "context_id")
  );
}

function isFilled(
  field: DescField,
): field is DescField & { readonly message: DescMessage } {
  return (
    field.fieldKind === "message" &&
    ["request", "message", "push_config", "command"].includes(field.name)
  );
}

function fill(message: ReflectMessage, names: Names): void {
  for (const field of message.fields) {
    if (isNaming(field)) {
      set(
        message,
        field,
        TASK_FIELDS.has(field.name) ? names.taskId : names.contextId,
      );
    } else if (field.name === "role" && field.fieldKind === "enum") {
      message.set(field, 1);
    } else if (field.name === "message_id") {
      set(message, field, "m");
    } else if (field.name === "url") {
      set(message, field, "https://receiver.example/");
    } else if (field.name === "command_path" && field.fieldKind === "list") {
      message.get(field).add("stats");
    } else if (
      field.name === "parts" &&
      field.fieldKind === "list" &&
      field.listKind === "message"
    ) {
      const part = reflect(field.message, create(field.message));
      const text = field.message.fields.find(({ name }) => name === "text");
      if (text) set(part, text, "text hello");
      message.get(field).add(part);
    } else if (isFilled(field)) {
      const inner = reflect(field.message, create(field.message));
      fill(inner, names);
      message.set(field, inner);
    }
  }
}

function set(message: ReflectMessage, field: DescField, value: string): void {
  message.set(field, value);
}
