import { clone } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { A2AService } from "@devtool/schema/a2a-v1";
import { describe, expect, it } from "vitest";
import { elementsOf } from "./a2a-descriptor/elements.ts";
import { officialDescriptor } from "./a2a-descriptor/official.ts";

const ours = A2AService.file.proto;
const official = officialDescriptor();

if (!official) {
  console.info(
    "skipped: no Python has a2a-sdk: run npx -y pnpm@12 install:interop",
  );
}

describe("the proto of A2A 1.0", () => {
  it.skipIf(!official)(
    "has the same elements as that of the official SDK (needs a Python with a2a-sdk)",
    () => {
      expect(elementsOf(ours)).toEqual(official && elementsOf(official));
    },
  );

  it("is told apart when a number, a name, a requirement or a route differs", () => {
    const changes: ((file: typeof ours) => void)[] = [
      ({ messageType: [message] }) => {
        for (const field of message?.field ?? []) field.number += 100;
      },
      ({ messageType: [message] }) => {
        for (const field of message?.field ?? []) field.jsonName += "X";
      },
      ({ messageType }) => {
        for (const field of messageType.flatMap((message) => message.field)) {
          delete field.options;
        }
      },
      ({ service: [service] }) => {
        for (const method of service?.method ?? []) delete method.options;
      },
      ({ enumType: [item] }) => item?.value.pop(),
      ({ service: [service] }) => service?.method.pop(),
    ];
    for (const change of changes) {
      const changed = clone(FileDescriptorProtoSchema, ours);
      change(changed);
      expect(elementsOf(changed)).not.toEqual(elementsOf(ours));
    }
  });

  it("has all elements of A2A 1.0: 44 messages, 2 enums, 11 methods", () => {
    expect([
      ours.messageType.length,
      ours.enumType.length,
      ours.service[0]?.method.length,
    ]).toEqual([44, 2, 11]);
  });
});
