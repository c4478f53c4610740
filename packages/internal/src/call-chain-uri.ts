/**
 * Key of `Message.metadata` under which one agent says to another from where a
 * message comes (`CallChain`).
 */
export const CALL_CHAIN_URI = "https://devtool.dev/a2a/call-chain/v1alpha";
