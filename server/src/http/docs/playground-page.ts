import { type Html, html } from './html.ts'

/** The form that `browser/playground.ts` brings to life. Without scripts it says so. */
export const playgroundPage =
  (): Html => html`<p>The vault's own interpreter runs in this page. Nothing that you type leaves it.</p>
<noscript><p>This page needs scripts, which your browser does not run.</p></noscript>
<form id="playground"><p><label for="example">Begin with</label> <select id="example"></select></p>
<p><label for="use">As</label> <select id="use"><option value="mask">mask</option><option value="fingerprint">fingerprint expression</option><option value="index">search index</option><option value="id">id</option></select></p>
<p><label for="expression">Expression, or a mask as JSON</label><textarea id="expression" rows="4" spellcheck="false"></textarea></p>
<p><label for="data">Data, as JSON</label><textarea id="data" rows="5" spellcheck="false"></textarea></p>
<p class="label" id="result-label">Result</p><pre id="result" tabindex="0" aria-live="polite" aria-labelledby="result-label"></pre>
<p id="cost" class="tag"></p></form>
`
