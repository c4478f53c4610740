#!/usr/bin/env node
/**
 * Serves a fake of OpenAI's API until it is terminated:
 * `fake-openai [--port N] [--latency MS] [--chunk-delay MS]`.
 */
import { runFake } from "@devtool/fake-model";
import { startFakeOpenAi } from "./fake-openai.ts";

await runFake("fake-openai", startFakeOpenAi);
