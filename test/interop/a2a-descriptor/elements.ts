import {
  create,
  fromBinary,
  getExtension,
  hasExtension,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  type FieldOptions,
  FieldOptionsSchema,
  type FileDescriptorProto,
  FieldDescriptorProto_Label as Label,
  type MethodDescriptorProto,
  MethodOptionsSchema,
  FieldDescriptorProto_Type as Type,
} from "@bufbuild/protobuf/wkt";
import { fieldBehavior, httpRule } from "@devtool/schema/a2a-v1";
import { HttpRuleSchema, methodSignature } from "@devtool/schema/testing";

/**
 * Returns the elements that a proto file declares, sorted, one per line: equal
 * for files that declare the same.
 */
export function elementsOf(file: FileDescriptorProto): string[] {
  return [
    `package ${file.package}`,
    `syntax ${file.syntax}`,
    ...file.messageType.flatMap((message) => messageLines(message, "")),
    ...file.enumType.flatMap((item) => enumLines(item, "")),
    ...file.service.flatMap(({ name, method }) => [
      `service ${name}`,
      ...method.map((item) => methodLine(name, item)),
    ]),
  ].sort();
}

function messageLines(
  { name, field, nestedType, enumType, oneofDecl, options }: DescriptorProto,
  outer: string,
): string[] {
  const path = outer === "" ? name : `${outer}.${name}`;
  return [
    `message ${path}${options?.mapEntry ? " map" : ""}${options?.deprecated ? " deprecated" : ""}`,
    ...field.map(
      (item) =>
        `field ${path}.${fieldLine(item, oneofDecl[item.oneofIndex]?.name)}`,
    ),
    ...nestedType.flatMap((item) => messageLines(item, path)),
    ...enumType.flatMap((item) => enumLines(item, path)),
  ];
}

function fieldLine(
  field: FieldDescriptorProto,
  oneof: string | undefined,
): string {
  const {
    name,
    number,
    label,
    type,
    typeName,
    jsonName,
    proto3Optional,
    options,
  } = field;
  const isIn =
    oneof !== undefined && Object.hasOwn(field, "oneofIndex")
      ? ` oneof ${oneof}`
      : "";
  const presence = proto3Optional ? " optional" : "";
  return `${name} = ${number} ${Label[label]} ${Type[type]} ${typeName} ${jsonName}${isIn}${presence}${optionWords(options)}`;
}

function optionWords(options: FieldOptions | undefined): string {
  if (!options) return "";
  const read = fromBinary(
    FieldOptionsSchema,
    toBinary(FieldOptionsSchema, options),
  );
  const behaviors = hasExtension(read, fieldBehavior)
    ? getExtension(read, fieldBehavior)
    : [];
  return `${behaviors.map((item) => ` behavior ${item}`).join("")}${read.deprecated ? " deprecated" : ""}`;
}

function enumLines(
  { name, value }: EnumDescriptorProto,
  outer: string,
): string[] {
  return value.map(
    (item) => `enum ${outer}${name}.${item.name} = ${item.number}`,
  );
}

function methodLine(service: string, method: MethodDescriptorProto): string {
  const { name, inputType, outputType, clientStreaming, serverStreaming } =
    method;
  const options = method.options ?? create(MethodOptionsSchema);
  const rule = toJsonString(HttpRuleSchema, getExtension(options, httpRule));
  const signature = getExtension(options, methodSignature).join(" | ");
  return `rpc ${service}.${name} ${clientStreaming ? "stream " : ""}${inputType} -> ${serverStreaming ? "stream " : ""}${outputType} ${rule} ${signature}`;
}
