import{d as o}from"./chunk-V5KZCUB3.js";function e(){return o("h1",{children:"Explore"})}export{e as ExplorePage};
