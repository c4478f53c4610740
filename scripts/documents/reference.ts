import type { DescEnum, DescField, DescFile, DescMessage, DescService, FileRegistry } from "@bufbuild/protobuf";
import { commentOf } from "./protos.ts";

/** The packages of the reference, in the order to show them, and what each is. */
const PACKAGES: Readonly<Record<string, string>> = {
  "devtool.a2a.v1alpha": "The messages of the RFC, and the A2A 0.3 envelope that carries them.",
  "devtool.v1alpha": "Our services, the log record, and the files that the server reads and writes.",
  "devtool.conformance.v1alpha": "The form of conformance cases, and the contract with a program under test.",
  "lf.a2a.v1": "A2A 1.0, wire-compatible with the standard.",
};

/** The reference of the protos in Markdown, out of their comments. */
export function reference(protos: FileRegistry): string {
  const files = [...protos.files].toSorted((one, other) => one.name.localeCompare(other.name));
  const sections = Object.entries(PACKAGES).flatMap(([name, about]) => {
    const own = files.filter((file) => file.proto.package === name);
    return [`## ${name}`, about, ...own.flatMap(fileSections)];
  });
  const head = ["# Reference", "Written by `pnpm documents` from the comments in [`proto/`](../proto); change those."];
  return `${[...head, ...sections].join("\n\n")}\n`;
}

function fileSections(file: DescFile): string[] {
  return [
    ...file.services.flatMap(serviceSection),
    ...file.messages.flatMap(messageSections),
    ...file.enums.flatMap(enumSection),
  ];
}

function serviceSection(service: DescService): string[] {
  const methods = service.methods.map((method) => {
    const stream = method.methodKind === "server_streaming" ? "stream " : "";
    return `- **${method.name}**(${method.input.name}) → ${stream}${method.output.name}: ${inLine(commentOf(method))}`;
  });
  return [`### ${shortName(service)}`, commentOf(service).replaceAll("\n", "\n\n"), methods.join("\n")];
}

function messageSections(message: DescMessage): string[] {
  if (message.proto.options?.mapEntry) return [];
  const fields = message.fields.map((field) => `- \`${field.name}\` ${typeOf(field)}: ${inLine(commentOf(field))}`);
  return [
    `### ${shortName(message)}`,
    commentOf(message).replaceAll("\n", "\n\n"),
    ...(fields.length > 0 ? [fields.join("\n")] : []),
    ...message.nestedMessages.flatMap(messageSections),
    ...message.nestedEnums.flatMap(enumSection),
  ];
}

function enumSection(description: DescEnum): string[] {
  const values = description.values.map(
    (value) => `- \`${value.name}\` = ${value.number}: ${inLine(commentOf(value))}`,
  );
  return [`### ${shortName(description)}`, commentOf(description).replaceAll("\n", "\n\n"), values.join("\n")];
}

/** The name of an element without its package. */
function shortName({ typeName, file }: { readonly typeName: string; readonly file: DescFile }): string {
  return typeName.slice(file.proto.package.length + 1);
}

function typeOf(field: DescField): string {
  const label = field.fieldKind === "list" ? "list of " : field.fieldKind === "map" ? "map to " : "";
  const oneof = field.oneof ? `, one of \`${field.oneof.name}\`` : "";
  const optional = field.fieldKind !== "message" && !field.oneof && field.proto.proto3Optional ? ", optional" : "";
  return `(${label}${valueTypeOf(field)}${optional}${oneof})`;
}

function valueTypeOf({ message, enum: values, proto, fieldKind, ...rest }: DescField): string {
  if (message) return message.name;
  if (values) return values.name;
  const scalar = "scalar" in rest ? rest.scalar : undefined;
  return SCALARS[scalar ?? proto.type] ?? fieldKind;
}

/** By the numbers that protobuf gives the kinds of fields. */
const SCALARS: Readonly<Record<number, string>> = {
  1: "double",
  2: "float",
  3: "int64",
  4: "uint64",
  5: "int32",
  8: "bool",
  9: "string",
  12: "bytes",
  13: "uint32",
};

function inLine(comment: string): string {
  return comment.replaceAll("\n", " ");
}
