/**
 * Takes the place of `standardwebhooks` in the bundle.
 *
 * Anthropic's SDK imports that package for webhooks, which models do not need, and it comes without the text of its licence.
 */
export class Webhook {
  constructor() {
    throw new Error("webhooks are not part of this bundle: use the package @anthropic-ai/sdk");
  }
}
