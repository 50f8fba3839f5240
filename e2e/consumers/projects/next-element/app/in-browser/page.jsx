'use client';

import dynamic from 'next/dynamic';

const Converter = dynamic(() => import('./converter.jsx'), { ssr: false });

export default function Page() {
  return <Converter />;
}
