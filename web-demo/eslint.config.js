// typescript-eslint's strict, type-aware rules and the rules of hooks, over everything that is written by hand.
import eslint from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores(["dist/", "src/gql/", "test-results/"]),
  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  reactHooks.configs.flat["recommended-latest"],
  {
    languageOptions: { parserOptions: { projectService: { allowDefaultProject: ["eslint.config.js", "scripts/compress.mjs"] } } },
    rules: {
      "max-lines": ["error", { max: 250 }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
);
