import{t as e}from"./simple-mode.js";var t=`from`;
