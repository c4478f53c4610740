import { createECDH } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encryptMessage } from "./message-encryption.ts";

describe("a message to a browser", () => {
  // RFC 8291, section 5 and appendix A.
  const browser = {
    p256dh: bytes(
      "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    ),
    auth: bytes("BTBZMqHH6r4Tts7J_aSIgg"),
  };
  const secrets = {
    privateKey: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
    salt: bytes("DGv6ra1nlYgDCS1FRnbzlw"),
  };
  const text = Buffer.from("When I grow up, I want to be a watermelon");

  it("is encrypted as in the example of RFC 8291", () => {
    const message = encryptMessage(text, browser, secrets);
    expect(Buffer.from(message).toString("base64url")).toBe(
      "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml" +
        "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT" +
        "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
    );
  });

  it("has a key and a salt of its own each time", () => {
    const [one, other] = [
      encryptMessage(text, browser),
      encryptMessage(text, browser),
    ];
    expect(one.subarray(0, 16)).not.toEqual(other.subarray(0, 16));
    expect(one.subarray(21, 86)).not.toEqual(other.subarray(21, 86));
  });

  it("is for no key that is not a point", () => {
    const keys = createECDH("prime256v1");
    const p256dh = new Uint8Array(keys.generateKeys());
    p256dh[64] = (p256dh[64] ?? 0) ^ 1;
    expect(() => encryptMessage(text, { ...browser, p256dh })).toThrow();
  });
});

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, "base64url"));
}
