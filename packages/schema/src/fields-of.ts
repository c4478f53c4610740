import type { Message } from "@bufbuild/protobuf";

/**
 * Returns the fields of a message for `create` of another type, which takes
 * those that it has under the same names.
 */
export function fieldsOf<T extends Message>({
  $typeName: _type,
  ...fields
}: T): Omit<T, "$typeName"> {
  return fields;
}
