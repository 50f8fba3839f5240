// The entry of the utility process.

import { serve } from './serve.mjs';

serve(process.parentPort);
