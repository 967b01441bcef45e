import { installDebianPackage, onPath } from '../find-server.ts';
import type { Service } from '../service.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/** A real browser. Its "URL" is the path of the program; `launchChromium` starts it. */
export const chromium: Service = {
  howTo: 'install Chromium or Google Chrome, or set CHROMIUM_PATH to its program',
  obtain: async (run) => {
    const given = run.env['CHROMIUM_PATH'];
    if (given !== undefined && given !== '') {
      const program = onPath(given);
      if (program === undefined) throw new Error(`CHROMIUM_PATH names ${given}, which is not a program`);
      return program;
    }
    const found = find();
    if (found !== undefined) return found;
    await installDebianPackage(run, 'chromium');
    const installed = find();
    if (installed === undefined) throw new Error('the package chromium was installed but its program is not there');
    return installed;
  },
};

function find(): string | undefined {
  return [...NAMES, MAC].map(onPath).find((file) => file !== undefined);
}
